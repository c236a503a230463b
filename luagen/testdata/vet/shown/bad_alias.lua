---@key q list
---@arg v string
---@arg w string
if v == q or w == v then
  redis.call('del', v)
end
if v ~= q then
  redis.call('del', v)
end
if v == w then
  redis.call('del', v)
end
redis.call('del', w)
local u = v
if u == q then
  u = w
  redis.call('del', u)
end
