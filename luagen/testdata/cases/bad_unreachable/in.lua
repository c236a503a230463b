---@key lock any
local function a() do return 1 end return 2 end
local function b(x) if x then return 1 else error('x') end return 2 end
local function c() while true do c() end b() end
local function d() repeat c() until false b() end
local function e() while true do if c then break end end return 1 end
local function f() while true do for i = 1, 2 do break end end return 1 end
local function g(x) if x then return 1 elseif d then return 2 end return 3 end
redis.call('rpush', lock, a(), e(), f(), g())
error({err = 'STOP here'})
redis.call('getdel', lock)
redis.call('getdel', lock)
