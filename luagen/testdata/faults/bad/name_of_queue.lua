local function entry(queue, id)
  return queue .. '/' .. id
end
local text = entry(redis.call('hget', KEYS[1], 'queue'), redis.call('hincrby', KEYS[1], 'n', 1))
return redis.call('rpush', KEYS[2], text)
