CREATE OR REPLACE VIEW monthly AS SELECT customer_id, SUM(total) AS total, COUNT(*) AS orders FROM orders GROUP BY customer_id;
