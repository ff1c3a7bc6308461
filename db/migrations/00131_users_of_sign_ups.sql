-- Behind PostgREST a user without a row of public.users may write nothing (00053), and only their first request to the gateway made one. On Supabase their
-- sign-up makes it.

-- With its owner's rights: the role that signs users up has none here. A sign-up never fails for it: who is left without a row, as removed users are by their
-- tombstone, is in the state of before.
create or replace function gateway.add_user() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    insert into public.users (id) values (new.id) on conflict do nothing;
    return null;
exception when others then
    raise warning 'a user who signs up has no row of public.users: %', sqlerrm;
    return null;
end $$;
revoke all on function gateway.add_user() from public, anon, authenticated, coach_gateway;

do $$
begin
    -- With Supabase's key: another product's table of this name is not the place of our users.
    if exists (select from pg_attribute where attrelid = to_regclass('auth.users') and attname = 'id' and atttypid = 'uuid'::regtype) then
        create or replace trigger coach_gateway_user after insert on auth.users for each row execute function gateway.add_user();
    end if;
exception when insufficient_privilege then
    raise notice 'no trigger on auth.users, users get their row with their first request: %', sqlerrm;
end $$;
