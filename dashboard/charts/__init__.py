"""Charts: result rows in, a Plotly figure out. They know neither SQL nor Streamlit."""
