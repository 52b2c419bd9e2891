INSERT INTO customers (email, name, state, flags) VALUES
  ('ada@example.org', 'Ada; "the first"', 'active', 'vip,news'),
  ('bob@example.org', 'Bob O''Neil', 'active', NULL),
  ('cy@example.org', 'Ćy 日本', 'new', '');
INSERT INTO products (sku, price, stock) VALUES ('AAAA0001', 9.99, 100), ('BBBB0002', 120.00, 5), ('CCCC0003', ${smallest}, 1000);
CREATE VIEW active_customers AS SELECT id, email, name FROM customers WHERE state = 'active';
CREATE OR REPLACE VIEW turnover AS
  SELECT c.id, c.email, COUNT(DISTINCT o.id) AS orders, COALESCE(SUM(l.pieces * p.price), 0) AS amount
    FROM customers c
    LEFT JOIN orders o ON o.customer_id = c.id
    LEFT JOIN order_lines l ON l.order_id = o.id
    LEFT JOIN products p ON p.id = l.product_id
   GROUP BY c.id, c.email;
