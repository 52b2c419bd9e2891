CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC
BEGIN
  RETURN n * 2;
END
//
-- a comment
CREATE PROCEDURE pay(IN who VARCHAR(50), IN amount DECIMAL(14,4))
BEGIN
  UPDATE account a JOIN person p ON p.id = a.person_id SET a.balance = a.balance + amount WHERE p.name = who;
END
//
CREATE TRIGGER account_checked BEFORE UPDATE ON account FOR EACH ROW
BEGIN
  IF NEW.balance < 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no money'; END IF;
END
//
