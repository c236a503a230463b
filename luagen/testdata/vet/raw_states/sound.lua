-- The same, with what the ways lack.
local mode, most, wait, by, to, left = 'a', 1, 2, 3, 4, 0
if ARGV[1] == 'x' then mode = 'b' end
if ARGV[2] == 'x' then most = 10 end
if ARGV[3] == 'x' then wait = 20 end
if ARGV[4] == 'x' then by = 30 end
if redis.call('exists', KEYS[1]) == 0 then to = 40 end
if redis.call('llen', KEYS[3]) > most then left = 5 end
local n = redis.call('incrby', KEYS[2], by)
if n == by then
  redis.call('expire', KEYS[2], wait)
end
redis.call('publish', KEYS[1], mode .. n + to + left)
local function parse(value) -- a name that is a number of itself
  value = tonumber(value)
  return value
end
local limit = parse(ARGV[5])
if limit and limit > most then return 0 end
return wait
