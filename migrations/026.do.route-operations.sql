-- What operators do with routes: moving a pinned action, seeing who holds what.
select 1;
