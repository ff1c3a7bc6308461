-- Those who signed up before 00131, in a file of its own: that one locks auth.users. Removed users have a tombstone, which refuses a row.
do $$
begin
    if not exists (select from pg_attribute where attrelid = to_regclass('auth.users') and attname = 'id' and atttypid = 'uuid'::regtype) then
        return;
    end if;
    for attempt in 1..10 loop
        begin
            insert into public.users (id)
            select a.id from auth.users a
            where not exists (select from public.users u where u.id = a.id)
                and not exists (select from gateway.removed_users r where r.user_hash = gateway.user_hash(a.id))
            on conflict do nothing;
            return;
        exception when foreign_key_violation then
            -- One of them was removed meanwhile.
            if attempt = 10 then
                raise;
            end if;
        end;
    end loop;
exception when insufficient_privilege then
    raise notice 'users of auth.users get their row with their first request: %', sqlerrm;
end $$;
