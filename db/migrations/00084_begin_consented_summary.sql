-- A summary sends messages to a model provider as a turn does (CONTRACT §4, §5): none begins while a consent is missing without which no model is called.

-- As gateway.begin_summary; NULL, too, unless the user has given these consents.
create function gateway.begin_summary_2(
    uid uuid, conversation_id uuid, turn_id uuid, attempt integer, tokens integer, required_consents text[], requires_memory_consent boolean,
    limits jsonb) returns jsonb
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(uid);
    if exists (
        select from public.users u, unnest(required_consents) as r (kind)
        where u.id = gateway.user_id() and not coalesce((u.consents ->> r.kind)::boolean, false))
    then
        return null;
    end if;
    return gateway.begin_summary($1, $2, $3, $4, $5, $7, $8);
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.begin_summary_2(uuid, uuid, uuid, integer, integer, text[], boolean, jsonb) to coach_gateway;
