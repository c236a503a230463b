--- Keeps the newest entries of a log.
---@key log list
---@arg entry bytes
---@arg most int(1..10000)
---@return int length
redis.call('lpush', log, entry)
redis.call('ltrim', log, 0, most - 1)
return redis.call('llen', log)
