-- A database with a bit of everything that dumps carry: types, keys, foreign keys, triggers, routines, events, views that use views.
set sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';
create table artist (
  id int unsigned not null auto_increment,
  name varchar(80) character set utf8mb4 collate utf8mb4_unicode_ci not null,
  born year default null,
  bio mediumtext,
  portrait blob,
  primary key (id),
  unique key name (name),
  key born (born, name(10))
) engine=InnoDB auto_increment=100 default charset=utf8 comment='who made it: O''Hara \\ "q"';
create table work (
  id bigint not null auto_increment,
  artist int unsigned not null,
  title varchar(100) not null default 'ohne Titel ä',
  kind enum('painting','Größe','o''x') not null default 'painting',
  tags set('a','b','cd') default 'a,b',
  price decimal(12,2) default '1234.50',
  weight double default null,
  f float(7,3) default null,
  bits bit(9) default b'101',
  made date default '1999-12-31',
  seen datetime(3) default null,
  changed timestamp not null default current_timestamp on update current_timestamp,
  t time(2) default '-12:34:56.78',
  raw varbinary(20) default 'a\0b',
  n tinyint(3) unsigned zerofill not null default '007',
  primary key (id),
  key artist_title (artist, title(20)),
  key kind (kind) using btree comment 'by kind',
  constraint by_whom foreign key (artist) references artist (id) on delete cascade on update restrict
) engine=InnoDB default charset=utf8mb4 row_format=compact;
create table log (what varchar(200), at datetime default null) engine=InnoDB default charset=latin1;
create table `odd ``name ö`(`a b` int primary key, `select` text) engine=InnoDB default charset=utf8mb4;
insert into artist (id, name, born, bio, portrait) values (1, 'Ada', 1901, 'line\nbreak\ttab \\ back', x'00ff27220a0d1a5c'), (2, 'Größe 🐬', null, null, null),
  (3, 'O''Hara', 1999, '', ''), (50, 'Ω', 2155, repeat('Text ', 5000), repeat('\0', 3000));
insert into work (artist, title, kind, tags, price, weight, f, bits, made, seen, t, raw, n) values
  (1, 'one', 'painting', '', -0.01, 2.25e100, 1.5, b'111111111', '0001-01-01', '2024-01-02 03:04:05.678', '-838:59:59', x'00', 255),
  (2, 'zwei', 'Größe', 'cd', 9999999999.99, -1e-300, -0.125, b'0', null, null, null, null, 0), (2, 'three', 'o''x', null, null, null, null, null, '9999-12-31', '9999-12-31 23:59:59.999', '838:59:59', '', 7);
insert into work (artist) values (3), (50), (50);
update work set changed = '2020-02-29 12:00:00';
insert into `odd ``name ö` values (-1, 'a'), (0, 'b'), (2147483647, null);
delimiter //
create trigger work_before before insert on work for each row
begin
  if new.price < 0 then set new.price = 0; end if;
  set new.title = concat(new.title, '!');
end//
create trigger work_after after delete on work for each row insert into log values (concat('gone: ', old.title, ' ', old.id), null)//
create trigger artist_update before update on artist for each row set new.bio = ifnull(new.bio, concat('was ', old.name))//
create function total(who int unsigned) returns decimal(20,2) reads sql data comment 'what all is worth'
  return (select sum(price) from work where artist = who)//
create function shout(s varchar(50) charset utf8mb4) returns varchar(60) charset utf8mb4 deterministic return concat(upper(s), ' 🐬!')//
create procedure raise_prices(in percent int, out changed int)
  modifies sql data sql security invoker
begin
  declare exit handler for sqlexception begin rollback; set changed = -1; end;
  start transaction;
  update work set price = price * (100 + percent) / 100 where price is not null;
  set changed = row_count();
  commit;
end//
create procedure walk(inout s text charset utf8mb4)
begin
  declare done int default 0;
  declare v varchar(80) charset utf8mb4;
  declare c cursor for select name from artist order by id;
  declare continue handler for not found set done = 1;
  open c;
  l: loop
    fetch c into v;
    if done then leave l; end if;
    set s = concat(s, v, ';');
  end loop;
  close c;
end//
set @zone = @@time_zone, time_zone = '+00:00'//
create event nightly on schedule every '1:30' hour_minute starts '2035-01-01 03:00:00' ends '2036-01-01 03:00:00'
  on completion preserve disable comment 'größer, ''nachts''' do
begin
  declare n int;
  set n = (select count(*) from work where title like 'ö%');
  insert into log values (concat('nachts; ', n), null);
end//
create event `odd ``event` on schedule at '2037-12-31 23:59:59' do call raise_prices(1, @n)//
set time_zone = @zone//
delimiter ;
create view worth as select a.id, a.name, count(w.id) as works, sum(w.price) as price from artist a left join work w on w.artist = a.id group by a.id, a.name;
create sql security invoker view rich as select * from worth where price > 100;
create view aaa_first as select r.name, shout(r.name) as loud, (select max(title) from work) as m from rich r;
create algorithm = temptable view kinds (k, c) as select kind, count(*) from work group by kind order by 2 desc, 1;
create view plain as select id, title, price from work where artist < 10 with cascaded check option;
create view `odd ``view` as select `a b` as `c ``d`, 'lit''eral' as `x y` from `odd ``name ö`;
