-- Suspended users write nothing behind PostgREST; the gateway rejects all their requests before. Nor do users without a row: removed ones with a valid
-- token. Users may read that they are suspended, not why.
--
-- Each policy repeats the condition, because users may execute none of our functions. It has no column of the row, so it is evaluated once per
-- statement.

grant select (suspended_at) on public.users to authenticated;

-- A subquery on the same table would recurse into this policy.
create policy users_not_suspended on public.users as restrictive for update to authenticated using (suspended_at is null);

do $$
declare
    target text;
    command text;
begin
    foreach target in array array['context_profiles', 'conversations', 'push_tokens', 'coaching_personas'] loop
        foreach command in array array['insert', 'update', 'delete'] loop
            execute format(
                'create policy %I on public.%I as restrictive for %s to authenticated %s '
                '(exists (select from public.users u where u.id = (select auth.uid()) and u.suspended_at is null))',
                format('%s_%s_not_suspended', target, command), target, command,
                case command when 'insert' then 'with check' else 'using' end);
        end loop;
    end loop;
end $$;
