-- As in 00056: where the database or the cluster had a `DateStyle` of its own, days of lists came in that style, and their cursors were not read again. In
-- its time zone a day may have 23 or 25 hours: all days are those of UTC.
do $$
begin
    execute format('alter role coach_gateway in database %I set datestyle = %L', current_database(), 'ISO');
    execute format('alter role coach_gateway in database %I set timezone = %L', current_database(), 'UTC');
end $$;
