-- migrate: no transaction
-- Those who signed up before 00131, in lots with a transaction each: the first request of a user waits for a row of theirs that is not committed. Removed
-- users have a tombstone, which refuses a row.
do $$
declare
    last uuid := '00000000-0000-0000-0000-000000000000';
    lot uuid[];
begin
    if not exists (select from pg_attribute where attrelid = to_regclass('auth.users') and attname = 'id' and atttypid = 'uuid'::regtype) then
        return;
    end if;
    loop
        begin
            select array_agg(a.id order by a.id) into lot from (select id from auth.users where id > last order by id limit 1000) a;
            exit when lot is null;
            insert into public.users (id)
            select l.id from unnest(lot) as l (id)
            where not exists (select from gateway.removed_users r where r.user_hash = gateway.user_hash(l.id))
            on conflict do nothing;
        exception
            when insufficient_privilege then
                raise notice 'users of auth.users get their row with their first request: %', sqlerrm;
                return;
            when foreign_key_violation then
                -- One of them was removed meanwhile: the lot is read again.
                continue;
        end;
        last := lot[cardinality(lot)];
        commit;
    end loop;
end $$;
