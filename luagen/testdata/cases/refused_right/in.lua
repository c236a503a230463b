--- Who may not expire a key is refused before the key is there.
---@key a hash
---@key b hash
---@key c hash
---@key d hash
---@key e hash
---@key f string
---@key more hash...
---@arg owner string
---@arg lease milliseconds
local call = redis.call
call('pexpire', a, lease)
call('hset', a, owner, 1)
call('pexpire', a, lease)
call('del', a)
call('hset', a, owner, 1)
call('pexpire', a, lease)
if owner ~= '' then
  call('pexpire', b, lease)
else
  call('pexpire', b, 1000)
end
call('hset', b, owner, 1)
call('pexpire', b, lease)
if call('exists', c) == 0 then
  return
end
call('hset', c, owner, 1)
call('pexpire', c, lease)
for _, lock in ipairs(more) do
  call('pexpire', lock, lease)
  call('hset', lock, owner, 1)
  call('pexpire', lock, lease)
end
call('hset', d, owner, 1)
redis.pcall('pexpire', d, lease)
call('hset', e, owner, 1)
call('pexpire', e, lease) ---@allow refused its users may do everything
call('set', f, owner, 'px', lease)
