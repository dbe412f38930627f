"""The public names of `benchrunner_clusters`, each with its module."""

from benchrunner_clusters.remote_orders import RemoteAnswer as RemoteAnswer, RemoteOrder as RemoteOrder
from benchrunner_clusters.sending import Sender as Sender, last_line as last_line, send_fits as send_fits
