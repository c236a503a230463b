--- Leads, or goes on leading: a leader's term is prolonged, another's is respected.
---@key leader string
---@arg me string
---@arg term milliseconds
---@return bool leads
---@return string who
local who = redis.call('get', leader)
if who == me then
  redis.call('pexpire', leader, term)
elseif not who then
  redis.call('set', leader, me, 'px', term)
  who = me
end
return {who == me and 1 or 0, who}
