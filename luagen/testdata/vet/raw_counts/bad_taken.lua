local tokens, cost = tonumber(redis.call('HGET', KEYS[1], 'tokens') or ARGV[2]), tonumber(ARGV[1])
if tokens > 0 then
  redis.call('HSET', KEYS[1], 'tokens', tokens - cost)
end
local stock = tonumber(redis.call('GET', KEYS[2])) or 0
if stock < 1 then return 0 end
redis.call('DECRBY', KEYS[2], ARGV[3])
local seats = tonumber(redis.call('HGET', KEYS[3], 'seats') or '0')
if seats == 0 then return 0 end
redis.call('HINCRBY', KEYS[3], 'seats', -ARGV[4])
local credit = tonumber(redis.call('GET', KEYS[4]) or '0')
local allowed = credit >= cost
credit = credit - cost
redis.call('SET', KEYS[4], credit, 'EX', 60)
return allowed and 1 or 0
