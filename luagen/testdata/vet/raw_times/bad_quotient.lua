local capacity, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('pexpire', KEYS[1], capacity / rate * 1000)
redis.call('expire', KEYS[2], math.floor(capacity / rate))
redis.call('setex', KEYS[3], math.floor(capacity / rate * 2), 'full')
local pause = tonumber(ARGV[3])
if pause > 0 then
  redis.call('expire', KEYS[1], pause)
end
redis.call('expire', KEYS[2], pause)
local life = capacity / rate
if life > 0 then
  redis.call('setex', KEYS[3], life, 'full')
end
if pause <= capacity and life ~= 0 then
  redis.call('expire', KEYS[1], life)
end
redis.call('expire', KEYS[1], pause + 1 / rate)
redis.call('expire', KEYS[1], ARGV[1] / ARGV[2])
local function fill(size, per) return size / per * 2 end
redis.call('expire', KEYS[1], fill(capacity, rate))
local floored = math.floor(capacity / rate)
if pause <= capacity then
  redis.call('expire', KEYS[1], floored)
end
local left = redis.call('pttl', KEYS[4])
redis.call('pexpire', KEYS[5], left)
if left ~= 0 and left ~= nil then
  redis.call('set', KEYS[5], 'v', 'px', left)
end
local g = tonumber(ARGV[4])
if g == 0 then
  redis.call('del', KEYS[6])
end
if g > 0 then
  redis.call('incr', KEYS[6])
end
redis.call('expire', KEYS[6], g)
