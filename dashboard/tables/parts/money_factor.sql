-- from a logged price to money: prices are per thousand unless set otherwise
select (case when value = 'cpm' then 0.001 else 1 end)::decimal(4, 3) as factor
from settings_in_force
where name = 'price_unit'
