-- Locks in one order everywhere: the count of the user's requests, the counter of changes, budgets. A turn that began beside one that ended of the same user
-- could take them in another order, and both waited until one was broken off and repeated: past half of a budget, and when turns failed.

do $do$
declare
    changed text;
    old text;
    new text;
    lock_count constant text := '    if receipt ->> ''status'' = ''failed'' then
        -- What a failed turn changes there is changed last.
        perform from public.rate_limits r where r.user_id = gateway.user_id() for update;
    end if;
';
begin
    for changed, old, new in values
        ('gateway.budget_limit(uuid,jsonb,numeric,bigint,date,timestamptz)',
            '    if share >= 0.5 then
',
            '    if share >= 0.5 then
        -- Before budgets, as finish_turn.
        perform from public.change_counters c where c.user_id = uid for update;
'),
        ('gateway.finish_turn(uuid,jsonb)', '    number := gateway.next_change(uid);', lock_count || '    number := gateway.next_change(uid);'),
        ('gateway.finish_late(uuid,uuid,integer,jsonb,jsonb,public.finalizer,timestamptz)',
            '    -- Before the turn, as begin_turn does.', lock_count || '    -- Before the turn, as begin_turn does.'),
        ('gateway.abandon_turn(uuid,uuid,uuid,integer)',
            '    turn.change := gateway.next_change(uid);',
            '    perform from public.rate_limits r where r.user_id = uid for update;
    turn.change := gateway.next_change(uid);'),
        -- Its notice did not count as given either, but for want of its id did.
        ('gateway.abandon_turn(uuid,uuid,uuid,integer)',
            'returning t.user_message_id, t.retry_of into turn.user_message_id, turn.retry_of;',
            'returning t.id, t.user_message_id, t.retry_of into turn.id, turn.user_message_id, turn.retry_of;'),
        -- Whether a response is the latest of its conversation was found by reading all turns of the user. A turn takes two places.
        ('gateway.response_input(uuid,uuid)',
            'select from public.turns o
                where o.user_id = gateway.user_id() and o.conversation_id = t.conversation_id and o.seq > t.seq and o.deleted_at is null
                    and o.status <> ''failed'')',
            'select from (
                    select q.turn_id from public.messages q
                    where q.user_id = gateway.user_id() and q.conversation_id = t.conversation_id and q.seq > t.seq + 1 offset 0) q
                join public.turns o on o.user_id = gateway.user_id() and o.id = q.turn_id
                where o.deleted_at is null and o.status <> ''failed'')'),
        ('gateway.delete_user(uuid,integer)',
            '    delete from public.users u where u.id = $1;',
            '    perform set_config(''gateway.removed_user'', $1::text, true);
    delete from public.users u where u.id = $1;')
    loop
        if position(old in pg_get_functiondef(changed::regprocedure)) = 0 then
            raise exception '% has not the text that is replaced: %', changed, old;
        end if;
        execute replace(pg_get_functiondef(changed::regprocedure), old, new);
    end loop;
end $do$;

-- As in 00024. Unless delete_user removes the user, as when Supabase does so in auth.users, a job removes what has no key to the user's row.
create or replace function gateway.leave_tombstone() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    insert into gateway.removed_users (user_hash) values (gateway.user_hash(old.id)) on conflict do nothing;
    if current_setting('gateway.removed_user', true) is distinct from old.id::text then
        perform gateway.enqueue_job(old.id, 'delete_user', max_attempts => 2147483647);
    end if;
    return null;
end $$;

-- Words of messages that were removed while they were indexed.
delete from public.message_words w where not exists (select from public.messages m where m.user_id = w.user_id and m.id = w.message_id);

-- Triggers with their owner's rights run before the policies: a row for somebody else was refused in two ways, which told whether that user exists.
create or replace trigger number_insert before insert on public.conversations for each row
    when (new.change = 0 and (current_user <> 'authenticated' or new.user_id = auth.uid())) execute function gateway.number_edit();
create or replace trigger version before insert or update on public.context_profiles for each row
    when (current_user <> 'authenticated' or new.user_id = auth.uid()) execute function gateway.version_profile();
create or replace trigger claim before insert or update on public.push_tokens for each row
    when (current_user <> 'authenticated' or new.user_id = auth.uid()) execute function gateway.claim_push_token();

revoke all on function gateway.leave_tombstone() from public, anon, authenticated, coach_gateway;
