--- Times, and what a header allows of them.
---@key k list
---@arg plain seconds
---@arg bounded seconds(1..86400)   ends where an int times 1000 would
---@arg signed milliseconds(-1..1000)
---@arg open milliseconds(-1..)?
---@arg most milliseconds(..60000)
---@arg all seconds(0..9)...
---@return milliseconds(0..60000) left
---@return int(1..) n
---@return seconds(-2..) ends
local n = redis.call('rpush', k, plain, bounded, signed, open or '', most, #all)
local exact = bounded * 1000000000 + #all
redis.call('rpush', k, string.format('%.0f', exact))
return {redis.call('pttl', k), n, redis.call('ttl', k)}
