DELIMITER //
CREATE TRIGGER orders_told AFTER INSERT ON orders FOR EACH ROW
BEGIN
  INSERT INTO journal VALUES (NOW(6), CONCAT('order ', NEW.id, ' of ', NEW.total));
END //
CREATE TRIGGER products_checked BEFORE UPDATE ON products FOR EACH ROW
BEGIN
  IF NEW.stock < 0 THEN SET NEW.stock = 0; END IF;
  IF NEW.price <> OLD.price THEN INSERT INTO journal VALUES (NOW(6), CONCAT(OLD.sku, ': ', OLD.price, ' -> ', NEW.price)); END IF;
END //
DELIMITER ;
CREATE TRIGGER customers_gone BEFORE DELETE ON customers FOR EACH ROW INSERT INTO journal VALUES (NOW(6), CONCAT('gone ', OLD.email));
UPDATE products SET price = price * 2 WHERE sku = 'CCCC0003';
CALL place_order(2, 1, 2, @made);
CALL recount();
DELETE FROM customers WHERE email LIKE 'cy@%';
