---@key lock hash
---@arg owner string
---@return bool done
if owner == 'a' then return redis.call('hset', lock, owner, 1) end
if owner == 'bb' then return redis.call('set', lock, owner, 'nx') end ---@allow kind not the point
if owner == 'b' then return redis.call('hget', lock, owner) end
if owner == 'c' then return redis.call('hmset', lock, owner, 1) end
if owner == 'd' then return {1} end
if owner == 'e' then return redis.status_reply('OK') end
if owner == 'f' then return 'yes' end
return redis.error_reply('NO it is not')
