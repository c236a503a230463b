---@arg owner string
return redis.call('get', owner)
