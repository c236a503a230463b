-- The same where no way leads to what has no value, or where all that are returned may be nil.
local stock = tonumber(redis.call('get', KEYS[1]))
if ARGV[1] == 'ask' then return {-1, stock} end
local left, allowed = tonumber(redis.call('get', KEYS[1]) or 0), false
local wait, ttl
if left > 0 then
  allowed = true
else
  wait = redis.call('pttl', KEYS[1])
end
local n = redis.call('incr', KEYS[2])
if n == 1 then
  redis.call('expire', KEYS[2], 60)
  ttl = 60
end
if n == 1 then return {2, ttl, n} end
local most = tonumber(ARGV[2])
local excess
if n > most then excess = n - most end
if n > most + 1 then return {3, excess, most, n} end
if not allowed then return {0, wait, left, n, most} end
return {1, tonumber(redis.call('hget', KEYS[3], 'n'))}
