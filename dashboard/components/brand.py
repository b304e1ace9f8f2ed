"""The product's mark, drawn here so that nothing has to be fetched."""

_LENS = (
    '<circle cx="13" cy="13" r="9.5" fill="none" stroke="#1391B5" stroke-width="3"/>'
    '<path d="M20 20l8 8" stroke="#1391B5" stroke-width="4" stroke-linecap="round"/>'
    '<path d="M8.6 13.2a4.6 4.6 0 1 1 1.6 3.4" fill="none" stroke="#E69F00" stroke-width="2.2" stroke-linecap="round"/>'
    '<path d="M7.4 10.2l1.2 3.4 3.2-1.6" fill="none" stroke="#E69F00" stroke-width="2.2" stroke-linecap="round"/>'
)

ICON = f'<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32">{_LENS}</svg>'

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="150" height="32" viewBox="0 0 150 32">'
    f'{_LENS}<text x="38" y="22" font-family="system-ui, Segoe UI, Roboto, Helvetica, Arial, DejaVu Sans, sans-serif" '
    'font-size="19" font-weight="600" fill="#1391B5">RetryLens</text></svg>'
)
