---@key lock hash
---@arg mode read|write|read
---@arg other read|
---@arg n int
---@command publish publish|publish
if mode ~= 'raed' and '' == mode then
  redis.call('hset', lock, 'n', n)
end
redis.call(publish, 'c', mode == 'write' and '1' or '0')
