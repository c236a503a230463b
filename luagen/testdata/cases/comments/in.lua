-- A licence may stand above.

--- Text.
---@key lock hash

-- A plain comment between.
---@arg owner string
--[[ a long
comment ]]
local a = --[[ inside ]] owner -- behind
local b = --[==[ two
lines ]==] [[
long  ]] .. "q"   
	local c = a..b

--- Documents the function, not the script.
---@param x string
---@return string
local function f(x) return x end
return redis.call('hdel', lock, f(c))
