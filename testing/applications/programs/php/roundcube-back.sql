-- From the schema of Roundcube 1.6 back to that of 0.9-beta, for its upgrade scripts to start from.
drop table responses;
drop table collected_addresses;
drop table filestore;
drop table cache_shared;
drop table `system`;
alter table dictionary drop foreign key user_id_fk_dictionary;
alter table dictionary drop column id, modify language varchar(5) not null;
alter table dictionary add constraint user_id_fk_dictionary foreign key (user_id) references users (user_id) on delete cascade on update cascade;
alter table cache drop index expires_index, add created datetime not null default '1000-01-01 00:00:00' after cache_key, add index created_index (created);
update cache set created = expires - interval 1 day;
alter table cache drop column expires;
alter table cache_index add changed datetime not null default '1000-01-01 00:00:00' after mailbox, drop column expires, add index changed_index (changed);
alter table cache_thread add changed datetime not null default '1000-01-01 00:00:00' after mailbox, drop column expires, add index changed_index (changed);
alter table cache_messages add changed datetime not null default '1000-01-01 00:00:00' after uid, drop column expires, add index changed_index (changed);
update cache_messages set changed = '2012-08-07 00:00:00';
alter table session add created datetime not null default '1000-01-01 00:00:00' after sess_id, modify ip varchar(40) not null default '';
alter table users drop column failed_login, drop column failed_login_counter, modify preferences text, modify language varchar(5);
alter table identities modify signature text;
