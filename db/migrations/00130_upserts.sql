-- A client of PostgREST that inserts or updates (`upsert` of supabase-swift) writes all columns that it sends, those of the key, too: `on conflict … do update
-- set user_id = excluded.user_id, …`. That needs the right to update them. The policies keep the user what it is, and the trigger the token: with another one
-- the directory of owners would keep an entry that no row releases.
grant update (user_id) on public.context_profiles to authenticated;
grant update (user_id, token) on public.push_tokens to authenticated;

create function gateway.refuse_other_token() returns trigger language plpgsql set search_path = '' as $$
begin
    raise exception 'another token is another row' using errcode = 'integrity_constraint_violation';
end $$;
create trigger keep_token before update of token on public.push_tokens for each row when (new.token <> old.token)
    execute function gateway.refuse_other_token();

revoke all on function gateway.refuse_other_token() from public, anon, authenticated, coach_gateway;
