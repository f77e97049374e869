CREATE OR REFRESH STREAMING TABLE orders_bronze AS
SELECT * FROM STREAM read_files('/Volumes/main/orders/raw', format => 'json');

CREATE OR REFRESH MATERIALIZED VIEW orders_daily AS
SELECT order_date, count(*) AS orders, sum(amount) AS amount
FROM orders_bronze
GROUP BY order_date;
