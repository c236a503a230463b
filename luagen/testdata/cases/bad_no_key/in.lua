---@arg owner string
return redis.call('getdel', owner)
