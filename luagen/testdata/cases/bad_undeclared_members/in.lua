--- Calls what servers do not have, and uses a name before it is declared.
---@key lock string
redis.calls('del', lock)
redis.call('set', lock, os.getenv('HOME'))
print(later)
local later = 1
return later
