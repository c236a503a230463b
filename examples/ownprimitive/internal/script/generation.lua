--- Returns the number of the present generation.
---
---@key barrier hash
---@return int? generation   nil: nobody has arrived yet
---@readonly
return redis.call('hget', barrier, 'generation')
