-- What the dashboard's stream of events tells: that figures are newer, and that alerts began or ended.

create function gateway.figure_state() returns table (as_of timestamptz, alerts_changed_at timestamptz)
    language sql stable security definer set search_path = ''
begin atomic
    select s.as_of, (select greatest(max(a.started_at), max(a.resolved_at)) from gateway.alerts a) from gateway.rollup_state s;
end;

revoke all on all functions in schema gateway from public, anon, authenticated;
-- A stream ends when its reader is an operator no more.
grant execute on function gateway.figure_state(), operator.require_operator() to coach_gateway;
