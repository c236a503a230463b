--- Makes a member leave a barrier, if it waits there.
---
---@key barrier hash
---@arg member string
---@return bool left
---@return int generation   the present one
local generation = redis.call('hget', barrier, 'generation') or 1
return {redis.call('hdel', barrier, member), generation}
