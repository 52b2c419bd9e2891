-- A shop. Comments, blank lines and semicolons in strings are Flyway's to understand; what they hold is the server's.
CREATE TABLE customers (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  email VARCHAR(191) NOT NULL,
  name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL DEFAULT '' COMMENT 'first; last',
  state ENUM('new','active','closed') NOT NULL DEFAULT 'new',
  flags SET('vip','news') DEFAULT NULL,
  created TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (id),
  UNIQUE KEY customers_email (email),
  KEY customers_name (name(20), state)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='who buys; it''s them';

CREATE TABLE products (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  sku CHAR(8) NOT NULL UNIQUE,
  price DECIMAL(10,2) NOT NULL,
  gross DECIMAL(12,4) AS (price * 1.19) STORED,
  stock INT NOT NULL DEFAULT 0,
  photo MEDIUMBLOB,
  CHECK (price >= 0)
) ENGINE=InnoDB;

CREATE TABLE orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  placed DATETIME(3) NOT NULL,
  total DECIMAL(12,2) NOT NULL DEFAULT 0,
  CONSTRAINT orders_customer FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE RESTRICT ON UPDATE CASCADE
) ENGINE=InnoDB;

CREATE TABLE order_lines (
  order_id BIGINT UNSIGNED NOT NULL,
  line SMALLINT NOT NULL,
  product_id INT UNSIGNED NOT NULL,
  pieces INT NOT NULL,
  PRIMARY KEY (order_id, line),
  CONSTRAINT lines_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT lines_product FOREIGN KEY (product_id) REFERENCES products (id)
) ENGINE=InnoDB;

CREATE TABLE journal (at DATETIME(6) NOT NULL, what VARCHAR(200) NOT NULL, KEY (at));
