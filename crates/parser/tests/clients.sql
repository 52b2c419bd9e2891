## connectors
/* mysql-connector-j-8.4.0 (Revision: 1c3f5c149e0bfe31c7fbeb24e2d260cd890972c4) */SELECT  @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@collation_server AS collation_server, @@init_connect AS init_connect, @@max_allowed_packet AS max_allowed_packet, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout
SET character_set_results = NULL
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'
SET autocommit=1, sql_mode=concat(@@sql_mode,',STRICT_TRANS_TABLES')
SET SESSION TRANSACTION READ WRITE
SET net_write_timeout=600
SET time_zone = '+00:00', @@session.time_zone = 'SYSTEM'
SELECT @@max_allowed_packet,@@system_time_zone,@@time_zone
SHOW VARIABLES WHERE Variable_name ='language' OR Variable_name = 'net_write_timeout' OR Variable_name = 'interactive_timeout'
SHOW SESSION VARIABLES LIKE 'version_comment'
select @@version_comment limit 1
SELECT DATABASE(), USER(), CURRENT_USER(), VERSION(), CONNECTION_ID()
SELECT USER()
SET @@SESSION.autocommit = ON
KILL QUERY 17
## object mappers
SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1
SELECT CAST('test collated returns' AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS anon_1
SELECT users.id AS users_id, users.name AS users_name FROM users WHERE users.name = 'ed' LIMIT 1
SELECT (1) AS `a` FROM `auth_user` WHERE (`auth_user`.`is_active` AND `auth_user`.`username` LIKE BINARY '%x\\_y%') LIMIT 1
SELECT `t`.`id`, COUNT(DISTINCT `t`.`a`) AS `n` FROM `t` INNER JOIN `u` ON (`t`.`u_id` = `u`.`id`) LEFT OUTER JOIN `v` ON (`u`.`v_id` = `v`.`id`) WHERE NOT (`t`.`x` IS NULL AND `t`.`y` REGEXP BINARY '^a') GROUP BY `t`.`id` HAVING COUNT(`t`.`a`) > 1 ORDER BY `n` DESC, `t`.`id` ASC LIMIT 21 OFFSET 5 FOR UPDATE
INSERT INTO `django_session` (`session_key`, `session_data`, `expire_date`) VALUES ('abc', 'e30:x', '2026-01-01 00:00:00.000001')
INSERT INTO t (a, b) VALUES (1, 2), (3, 4) ON DUPLICATE KEY UPDATE `b` = VALUES(`b`), `c` = `c` + 1, id = LAST_INSERT_ID(id)
SET SQL_AUTO_IS_NULL = 0
SELECT (INTERVAL '0 00:00:1:0' DAY_MICROSECOND + t.d) AS e, DATE_FORMAT(d, '%Y-%m-01'), TIMESTAMPDIFF(MICROSECOND, a, b) FROM t
SELECT CAST(DATE_FORMAT(CONVERT_TZ(`t`.`d`, 'UTC', 'Europe/Berlin'), '%Y-01-01') AS DATE) AS `y` FROM `t`
SELECT IFNULL(SUM(CASE WHEN a > 0 THEN 1 ELSE 0 END), 0) AS total, GREATEST(1, 2), COALESCE(NULL, 'x') FROM t
SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 't' ORDER BY ORDINAL_POSITION
SELECT kcu.referenced_table_schema FROM information_schema.referential_constraints rc JOIN information_schema.key_column_usage kcu USING (constraint_schema, constraint_name) WHERE rc.table_name = 't'
ALTER TABLE `t` ADD CONSTRAINT `t_a_b_uniq` UNIQUE (`a`, `b`)
ALTER TABLE `t` ADD COLUMN `c` datetime(6) NULL, ALTER COLUMN `c` DROP DEFAULT, MODIFY `d` longtext NOT NULL
ALTER TABLE `t` ADD CONSTRAINT `fk` FOREIGN KEY (`u_id`) REFERENCES `u` (`id`)
CREATE TABLE `t` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `ok` bool NOT NULL, `n` integer UNSIGNED NOT NULL, `x` numeric(10, 2) NULL, `y` double precision NULL, `c` varchar(150) NOT NULL UNIQUE)
CREATE INDEX `t_a_idx` ON `t` (`a`)
SAVEPOINT `s140_x1`
ROLLBACK TO SAVEPOINT `s140_x1`
RELEASE SAVEPOINT `s140_x1`
SHOW FULL TABLES FROM `db` WHERE table_type = 'BASE TABLE'
SHOW KEYS FROM `t` FROM `db` WHERE Key_name = 'PRIMARY'
SHOW FULL FIELDS FROM `t`
## sysbench
CREATE TABLE sbtest1( id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id) ) /*! ENGINE = innodb */
CREATE INDEX k_1 ON sbtest1(k)
INSERT INTO sbtest1(k, c, pad) VALUES(4992, '83868641912', '67847967377'),(5019, '38014276128', '23183251411')
SELECT c FROM sbtest1 WHERE id=5014
SELECT c FROM sbtest1 WHERE id=?
SELECT c FROM sbtest1 WHERE id BETWEEN 5014 AND 5113
SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5014 AND 5113
SELECT c FROM sbtest1 WHERE id BETWEEN 5014 AND 5113 ORDER BY c
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5014 AND 5113 ORDER BY c
UPDATE sbtest1 SET k=k+1 WHERE id=5014
UPDATE sbtest1 SET c='x' WHERE id=5014
DELETE FROM sbtest1 WHERE id=5014
INSERT INTO sbtest1 (id, k, c, pad) VALUES (5014, 5021, 'x', 'y')
SELECT id, k, c, pad FROM sbtest1 WHERE k IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
SELECT count(k) FROM sbtest1 WHERE k BETWEEN 1 AND 2 OR k BETWEEN 3 AND 4
DROP TABLE IF EXISTS sbtest1
## mysqldump, mysqladmin, mysql
/*!40100 SET @@SQL_MODE='' */
/*!40103 SET TIME_ZONE='+00:00' */
SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`
SELECT /*!40001 SQL_NO_CACHE */ `id`, `a` FROM `t` ORDER BY `id`
FLUSH /*!40101 LOCAL */ TABLES
LOCK TABLES `t` READ /*!32311 LOCAL */,`u` READ /*!32311 LOCAL */
START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
SHOW CREATE DATABASE IF NOT EXISTS `db`
SELECT DISTINCT TABLESPACE_NAME, FILE_NAME, LOGFILE_GROUP_NAME, EXTENT_SIZE, INITIAL_SIZE, ENGINE FROM INFORMATION_SCHEMA.FILES WHERE FILE_TYPE = 'DATAFILE' AND TABLESPACE_NAME IN (SELECT DISTINCT TABLESPACE_NAME FROM INFORMATION_SCHEMA.PARTITIONS WHERE TABLE_SCHEMA IN ('db')) ORDER BY TABLESPACE_NAME, LOGFILE_GROUP_NAME
select column_name, extra, generation_expression, data_type from information_schema.columns where table_schema=database() and table_name='t' order by ordinal_position
SHOW TRIGGERS LIKE 't'
SHOW FUNCTION STATUS WHERE Db = 'db'
SET SQL_QUOTE_SHOW_CREATE=1
SELECT INSTR('a', 'b'), @@have_profiling, @@GLOBAL.read_only
SHOW GLOBAL STATUS
SHOW /*!40003 GLOBAL*/ VARIABLES
SHOW /*!50002 FULL */ TABLES
select concat('KILL ', id, ';') from information_schema.processlist where user='x'
help 'contents'
REPLACE INTO `t` VALUES (_utf8mb4'x' COLLATE utf8mb4_bin, -1, +2, 1 + 1, default, now(), unhex('00ff'))
delete from t where a = 1 and b in (select c from u) order by d limit 10
update t set a = default, b = null where c is not null limit 1
select sql_calc_found_rows a, b from t where match(a, b) against ('x' in boolean mode) > 0.5 limit 0, 10
select * from t where a = 'x' collate utf8_bin and (b, c) > (1, 2) and d not between 1 and 2 and e not like 'x%' escape ''
select t.*, u.a b, 'c' from t, u where t.a = u.a and t.date = date(now()) and year(t.time) = 2026 and t.status = u.value and t.key is null
