-- What has no value on one way, and what another return always has.
local stock = tonumber(redis.call('get', KEYS[1]))
if ARGV[1] == 'ask' then return {stock and 1 or 0, 2, 3, stock} end
if ARGV[1] == 'none' then return {0, 0, 0, 0} end
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
if n > tonumber(ARGV[2]) then return {2, ttl, n} end
if allowed then return {1, wait} end
local full = left > 100
local excess
if full then excess = left - 100 end
if not full then redis.call('incr', KEYS[3]) end
return {0, excess, math.floor(left)}
