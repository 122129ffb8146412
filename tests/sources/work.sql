-- What people do with SQLite: tables, an index, joins, transactions, text, windows.
.mode list
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price REAL);
CREATE TABLE sale(id INTEGER PRIMARY KEY, item INT REFERENCES item(id), day INT, n INT);
BEGIN;
WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 200)
  INSERT INTO item SELECT x, printf('item %03d', x), x * 1.25 FROM i;
WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 20000)
  INSERT INTO sale SELECT x, 1 + x * 7919 % 200, x * 31 % 365, 1 + x % 5 FROM i;
COMMIT;
CREATE INDEX sale_item ON sale(item, day);
SELECT count(*), sum(n), min(day), max(day) FROM sale;
SELECT name, sum(n) AS many, round(sum(n * price), 2) FROM sale JOIN item ON item.id = item
  GROUP BY name ORDER BY many DESC, name LIMIT 5;
SELECT day, sum(n) OVER (ORDER BY day) FROM (SELECT day, sum(n) AS n FROM sale
  WHERE item = 17 GROUP BY day) ORDER BY day LIMIT 5;
BEGIN;
DELETE FROM sale WHERE day < 300;
SELECT count(*) FROM sale;
ROLLBACK;
SELECT count(*) FROM sale WHERE item IN (SELECT id FROM item WHERE name LIKE '%7');
UPDATE item SET name = upper(name) WHERE id % 50 = 0;
SELECT group_concat(name, ', ') FROM item WHERE name GLOB 'ITEM*';
PRAGMA integrity_check;
VACUUM;
SELECT length(quote(zeroblob(10))), typeof(1.0), 7 / 2, hex('tally');
SELECT * FROM nothing;
