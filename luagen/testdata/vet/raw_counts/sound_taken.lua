local tokens, cost = tonumber(redis.call('HGET', KEYS[1], 'tokens') or ARGV[2]), tonumber(ARGV[1])
if tokens > 0 and tokens >= cost then
  redis.call('HSET', KEYS[1], 'tokens', tokens - cost)
end
local stock = tonumber(redis.call('GET', KEYS[2])) or 0
if stock < 1 then return 0 end
redis.call('DECRBY', KEYS[2], math.min(stock, ARGV[3]))
local left = (tonumber(redis.call('GET', KEYS[3])) or 0) - cost
if left < 0 then return 0 end
redis.call('DECRBY', KEYS[3], cost)
local credit, allowed = tonumber(redis.call('GET', KEYS[4]) or '0'), 1
credit = credit - cost
if credit < 0 then
  credit, allowed = credit + cost, 0
end
redis.call('SET', KEYS[4], credit, 'EX', 60)
return allowed
