DELIMITER $$
CREATE FUNCTION price_of(wanted INT UNSIGNED) RETURNS DECIMAL(10,2)
READS SQL DATA
BEGIN
  DECLARE found DECIMAL(10,2);
  SELECT price INTO found FROM products WHERE id = wanted; -- ; $ is no end
  RETURN found;
END$$

CREATE PROCEDURE place_order(IN who INT UNSIGNED, IN product INT UNSIGNED, IN pieces INT, OUT made BIGINT UNSIGNED)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  IF pieces <= 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'nothing ordered';
  END IF;
  START TRANSACTION;
  UPDATE products SET stock = stock - pieces WHERE id = product AND stock >= pieces;
  IF ROW_COUNT() = 0 THEN
    SIGNAL SQLSTATE '45001' SET MESSAGE_TEXT = 'out of stock';
  END IF;
  INSERT INTO orders (customer_id, placed, total) VALUES (who, NOW(3), pieces * price_of(product));
  SET made = LAST_INSERT_ID();
  INSERT INTO order_lines VALUES (made, 1, product, pieces);
  COMMIT;
END$$

CREATE PROCEDURE recount()
BEGIN
  DECLARE done INT DEFAULT 0;
  DECLARE one BIGINT UNSIGNED;
  DECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
  OPEN c;
  every: LOOP
    FETCH c INTO one;
    IF done THEN LEAVE every; END IF;
    UPDATE orders SET total = (SELECT SUM(l.pieces * p.price) FROM order_lines l JOIN products p ON p.id = l.product_id WHERE l.order_id = one) WHERE id = one;
  END LOOP;
  CLOSE c;
END$$
DELIMITER ;
CALL place_order(1, 1, 3, @made);
CALL place_order(2, 2, 1, @made);
CALL place_order(1, 3, 7, @made);
