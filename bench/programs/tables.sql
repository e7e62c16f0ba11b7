-- A database in memory: tables filled, indexed, joined, grouped, changed and emptied.
PRAGMA cache_size = -200000;
CREATE TABLE item (id INTEGER PRIMARY KEY, owner INTEGER, name TEXT, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO item SELECT i, i * 7919 % 5003, 'item ' || (i * 104729 % 300007), i * 0.25 FROM n;
CREATE INDEX item_owner ON item (owner);
CREATE INDEX item_name ON item (name);
CREATE TABLE owner AS SELECT owner AS id, count(*) AS items, sum(price) AS worth FROM item GROUP BY owner;
SELECT count(*), sum(items) FROM owner;
SELECT count(*) FROM item JOIN owner ON owner.id = item.owner WHERE owner.worth > item.price * 400;
UPDATE item SET name = name || ' (' || owner || ')' WHERE id % 3 = 0;
SELECT length(group_concat(name, ',')) FROM item WHERE id % 5 = 0;
SELECT count(DISTINCT substr(name, 1, 9)) FROM item;
DELETE FROM item WHERE id % 2 = 0;
SELECT count(*), max(name) FROM item;
