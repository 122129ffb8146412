pragma journal_mode = wal;
create table t (a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
    insert into t select i, hex(i) from n;
create index by_b on t (b);
begin;
delete from t where a % 2;
rollback;
select count(*), sum(a), max(b) from t where b like '33%';
vacuum;
pragma integrity_check;
