-- A suspended user writes nothing behind PostgREST; over the gateway every request is refused before it gets here. Nor does one without a row: an
-- account that was deleted while its token is still valid. That a user is suspended they may read, why they may not.
--
-- The condition stands in each policy, and not in a function, because users may execute none of ours. It names no column of the row at hand, so it
-- is evaluated once a statement.

grant select (suspended_at) on public.users to authenticated;

-- Here a subquery would ask for this policy again.
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
