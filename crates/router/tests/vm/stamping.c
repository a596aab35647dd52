/*
 * Two Ethernet interfaces, each at the other's end, whose "hardware" stamps packets: `stamps0` and `stamps1`. No
 * virtual interface of the kernel does, and those of QEMU stamp some packets of PTP alone. Only for `stamps.sh`.
 *
 * The kernel asks for stamps as it asks any driver (Documentation/networking/timestamping.rst, section 3): nothing is
 * stamped before SIOCSHWTSTAMP. The clock is the one since boot, so that no stamp can be taken for one of the kernel.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

struct end {
	struct net_device *other;
	struct hwtstamp_config asked;
};

static struct net_device *ends[2];

static netdev_tx_t stamps_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct end *end = netdev_priv(dev), *far = netdev_priv(end->other);
	struct skb_shared_hwtstamps now = { .hwtstamp = ktime_get() };
	struct sk_buff *arrives;

	if (end->asked.tx_type == HWTSTAMP_TX_ON && (skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP)) {
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
		skb_tstamp_tx(skb, &now);
	}
	skb_tx_timestamp(skb);
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += skb->len;
	/* The sender's stamp is in what a clone would share. */
	arrives = skb_copy(skb, GFP_ATOMIC);
	dev_consume_skb_any(skb);
	if (!arrives)
		return NETDEV_TX_OK;
	if (far->asked.rx_filter == HWTSTAMP_FILTER_ALL)
		*skb_hwtstamps(arrives) = now;
	end->other->stats.rx_packets++;
	end->other->stats.rx_bytes += arrives->len;
	dev_forward_skb(end->other, arrives);
	return NETDEV_TX_OK;
}

static int stamps_ioctl(struct net_device *dev, struct ifreq *ifr, int cmd)
{
	struct end *end = netdev_priv(dev);

	if (cmd == SIOCSHWTSTAMP) {
		if (copy_from_user(&end->asked, ifr->ifr_data, sizeof(end->asked)))
			return -EFAULT;
		if (end->asked.rx_filter != HWTSTAMP_FILTER_NONE)
			end->asked.rx_filter = HWTSTAMP_FILTER_ALL;
	} else if (cmd != SIOCGHWTSTAMP) {
		return -EOPNOTSUPP;
	}
	return copy_to_user(ifr->ifr_data, &end->asked, sizeof(end->asked)) ? -EFAULT : 0;
}

static int stamps_can(struct net_device *dev, struct ethtool_ts_info *info)
{
	info->so_timestamping = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
				SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
				SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	info->phc_index = -1;
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}

static const struct net_device_ops stamps_ops = {
	.ndo_start_xmit = stamps_xmit,
	.ndo_eth_ioctl = stamps_ioctl,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static const struct ethtool_ops stamps_ethtool = {
	.get_link = ethtool_op_get_link,
	.get_ts_info = stamps_can,
};

static void stamps_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &stamps_ops;
	dev->ethtool_ops = &stamps_ethtool;
	dev->features |= NETIF_F_LLTX;
	eth_hw_addr_random(dev);
}

static void stamps_exit(void)
{
	int i;

	for (i = 0; i < 2; i++)
		if (ends[i] && ends[i]->reg_state == NETREG_REGISTERED)
			unregister_netdev(ends[i]);
	for (i = 0; i < 2; i++)
		if (ends[i])
			free_netdev(ends[i]);
}

static int __init stamps_init(void)
{
	int i, error = -ENOMEM;

	for (i = 0; i < 2; i++) {
		ends[i] = alloc_netdev(sizeof(struct end), "stamps%d", NET_NAME_ENUM, stamps_setup);
		if (!ends[i])
			goto failed;
	}
	for (i = 0; i < 2; i++) {
		((struct end *)netdev_priv(ends[i]))->other = ends[1 - i];
		error = register_netdev(ends[i]);
		if (error)
			goto failed;
	}
	return 0;
failed:
	stamps_exit();
	return error;
}

module_init(stamps_init);
module_exit(stamps_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A pair of interfaces that stamp packets, for the tests of Goodqueue");
