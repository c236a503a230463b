---@key lock string
---@key line list
---@arg lease milliseconds
---@since redis 6.2
redis.call('set', lock, 1, 'px', lease)
redis.call('pexpire', lock, lease, 'nx')
redis.call('lmpop', 1, line, 'left')
redis.call('getex', lock, 'persist')
return redis.acl_check_cmd('get', lock)
