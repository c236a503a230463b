local now = tonumber(ARGV[1])
local tat = math.max(tonumber(redis.call('get', KEYS[1])) or now, now) + tonumber(ARGV[2])
redis.call('setex', KEYS[1], math.max(math.ceil((tat - now) / 1000), 1), tostring(tat))
local time, filled = redis.call('time'), redis.call('hget', KEYS[2], 'filled')
local at = tonumber(filled, 10) or tonumber(time[1])
redis.call('hset', KEYS[2], 'filled', tostring(at), 'filled_at', at)
local orderId, msg_ttl = redis.call('incr', KEYS[3]), tonumber(ARGV[3])
if redis.call('exists', table.concat({'order', orderId}, ':')) == 1 then
  redis.call('hset', KEYS[2], 'ttl', msg_ttl)
end
return {tonumber(orderId), tat}
