--- Comparisons of two of a kind, and of what is not known.
---@key counter string
---@key counts hash
---@arg limit int(1..100)
---@arg after int?
---@arg name string
---@arg force bool
---@return bool done
local n = redis.call('get', counter)
if n == nil or n == false then return 0 end
if name == nil or name == false then return 0 end
if tonumber(n) < 5 or tonumber(n) >= tonumber(limit) then return 0 end
if n == '5' or n == limit or n ~= name then return 0 end
if after == nil or force == true then return 0 end
if redis.call('exists', counter) == 1 then return 0 end
if redis.call('type', counter).ok == 'string' then return 0 end
if redis.call('set', counter, 1, 'xx') == false then return 0 end
local all = redis.call('hgetall', counts)
if all[1] == nil then return 0 end
local data = cjson.decode(n)
if data.x == nil or data.n == nil or data.n < 5 or data.name == 'x' then return 0 end
local tried = redis.pcall('get', counter)
if type(tried) == 'table' and tried.err then return 0 end
local letter = string.sub(name, 1, 1)
if letter >= 'a' and letter <= 'z' then return 0 end
local mixed = redis.call('hget', counts, 'n') or 0
if mixed == 0 then return 0 end
local count = redis.call('hget', counts, 'n')
if count then count = tonumber(count) else count = 0 end
if count > 3 then return 0 end
local raw = redis.call('get', counter)
if raw == false then return 0 end
if raw == nil then return 0 end
if type(raw) == 'number' and raw < 5 then return 0 end
local kind = redis.call('hget', counts, 'kind')
kind = kind and tonumber(kind) or cjson.decode(name)
if type(kind) == 'number' and kind < 5 then return 0 end
local either = count > 2 and 'x' or 3
if type(either) ~= 'string' and either < 5 then return 0 end
if type(either) == 'number' and either < 5 then return 0 end
return 1
