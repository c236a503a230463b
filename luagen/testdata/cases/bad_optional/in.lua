---@key lock any
---@arg lease milliseconds?
if lease == '' then return 1 end
if '' ~= lease then return redis.call('pexpire', lock, lease) end
