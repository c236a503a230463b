if redis.call('EXISTS', KEYS[1]) ~= 1 then return 0 end
local item = redis.call('HMGET', KEYS[1], 'price', 'count')
return (item[1] or 0) * (item[2] or 0)
